import { authClient } from './auth-client.ts'
import { trpc } from './trpc.ts'

Object.assign(window, { client: authClient })

/** Shows lines of text instead of the page. */
function show(...lines: string[]): void {
  document.body.replaceChildren(
    ...lines.map((line) => Object.assign(document.createElement('p'), { textContent: line })),
  )
}

function showUser(): void {
  let email = ''
  trpc.me.query().then(
    (user) => {
      email = user.email
      show(email)
    },
    (error) => show(error.message),
  )
  trpc.ticks.subscribe(undefined, {
    onData: (tick) => show(email, `tick ${tick}`),
    onError: (error) => show(error.message),
  })
}

if (location.pathname === '/me') {
  authClient.subscribe(() => {
    if (authClient.getState().status !== 'unauthenticated') return
    show()
    location.replace('/')
  })
  showUser()
} else show('Home')
