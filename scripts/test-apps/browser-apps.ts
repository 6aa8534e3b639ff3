import type { App } from './app.ts'
import { guideApp } from './guide-app.ts'
import { type Files, guideFiles } from './guide-files.ts'

/** The files of an app without server-rendered pages, except `src/main.ts` and the guide's. */
const FILES = {
  'tsconfig.json': JSON.stringify({
    include: ['server', 'src'],
    compilerOptions: {
      lib: ['DOM', 'DOM.Iterable', 'ES2022', 'ESNext.Disposable'],
      types: ['node'],
      target: 'ES2022',
      module: 'ES2022',
      moduleResolution: 'bundler',
      noEmit: true,
      skipLibCheck: true,
      strict: true,
    },
  }),
  'index.html': `<!doctype html>
<div id="root"></div>
<script type="module" src="/src/main.ts"></script>
`,
  'server/main.ts': `import { serve } from '@hono/node-server'
import { serveStatic } from '@hono/node-server/serve-static'
import { createHandler } from '@sallyport/trpc'
import { Hono } from 'hono'
import { authConfig } from './lib/auth.config'
import { auth, httpContext } from './lib/context'
import { appRouter } from './lib/router'

const options = { auth, config: authConfig, router: appRouter, createContext: httpContext }
const handle = createHandler({ maxBodySize: 100_000, ...options, endpoint: '/api/trpc' })
const app = new Hono()
app.all('/api/*', (c) => handle(c.req.raw))
app.use('/*', serveStatic({ root: 'dist' }))
app.get('/me', serveStatic({ path: 'dist/index.html' }))
const server = serve({ fetch: app.fetch, port: Number(process.env.PORT) })
// Waits for open subscriptions, as frameworks do.
process.once('SIGTERM', () => server.close())
`,
  'src/trpc.ts': `import { authLink, subscriptionLink } from '@sallyport/trpc/client'
import { createTRPCClient, httpBatchLink, splitLink } from '@trpc/client'
import type { AppRouter } from '../server/lib/router'
import { createClients } from './clients'

const url = '/api/trpc'
export const { client } = createClients()
export const trpc = createTRPCClient<AppRouter>({
  links: [
    authLink(client),
    splitLink({
      condition: ({ type }) => type === 'subscription',
      true: subscriptionLink(client, { url }),
      false: httpBatchLink({ url, fetch: client.fetch }),
    }),
  ],
})
`,
  'src/router.ts': `import { client } from './trpc'

/** Calls back with the path, now and after each change. */
export function startRouter(setPath: (path: string) => void) {
  const show = () => setPath(location.pathname)
  const push = (path: string) => {
    history.pushState(null, '', path)
    show()
  }
  addEventListener('popstate', show)
  Object.assign(window, { client, router: { push } })
  show()
}

export function leavePage() {
  history.replaceState(null, '', '/')
  dispatchEvent(new PopStateEvent('popstate'))
}
`,
}

const VUE = `import { createApp, defineComponent, h, onUnmounted, ref, watchEffect } from 'vue'
import { leavePage, startRouter } from './router'
import { client, trpc } from './trpc'
import { useAuth } from './use-auth'

const Me = defineComponent(() => {
  const email = ref('')
  const tick = ref(0)
  trpc.me.query().then((me) => {
    email.value = me.email
  }, console.log)
  const ticks = trpc.ticks.subscribe(undefined, {
    onData: (value) => {
      tick.value = value
    },
  })
  onUnmounted(() => ticks.unsubscribe())
  return () => [h('p', email.value), h('p', \`tick \${tick.value}\`)]
})

const Root = defineComponent(() => {
  const auth = useAuth(client)
  const path = ref('')
  startRouter((value) => {
    path.value = value
  })
  watchEffect(() => {
    if (path.value === '/me' && auth.value.status === 'unauthenticated') leavePage()
  })
  return () => {
    const { status, userChanges } = auth.value
    if (path.value === '/me') return status === 'authenticated' ? h(Me, { key: userChanges }) : null
    return h('p', 'Home')
  }
})

createApp(Root).mount('#root')
`

const SOLID = `import { createEffect, createResource, createSignal, onCleanup, Show } from 'solid-js'
import h from 'solid-js/h'
import { render } from 'solid-js/web'
import { createAuth } from './create-auth'
import { leavePage, startRouter } from './router'
import { client, trpc } from './trpc'

function Me() {
  const [me] = createResource(() => trpc.me.query().catch(() => null))
  const [tick, setTick] = createSignal(0)
  const ticks = trpc.ticks.subscribe(undefined, { onData: setTick })
  onCleanup(() => ticks.unsubscribe())
  return h('div', h('p', () => me()?.email), h('p', () => \`tick \${tick()}\`))
}

function Root() {
  const auth = createAuth(client)
  const [path, setPath] = createSignal('')
  startRouter(setPath)
  createEffect(() => {
    if (path() === '/me' && auth().status === 'unauthenticated') leavePage()
  })
  const isHome = () => path() !== '/me'
  const session = () => !isHome() && auth().status === 'authenticated' && auth().sessionId
  return h(
    'div',
    h(Show, { when: isHome }, () => h('p', 'Home')),
    h(Show, { when: session, keyed: true }, () => h(Me)),
  )
}

const root = document.getElementById('root')
if (root) render(h(Root), root)
`

/** The recipes of docs/other-frameworks.md in the browser. The app of SvelteKit has the one for Svelte. */
export const browserApps: readonly App[] = [
  browserApp('vue', { recipe: /^use-auth\.ts$/, main: VUE, dependencies: { vue: '^3.5.45' } }),
  browserApp('solid', { recipe: /^create-auth\.ts$/, main: SOLID, dependencies: { 'solid-js': '^1.9.19' } }),
]

interface BrowserAppOptions {
  /** The name of the recipe's file. */
  readonly recipe: RegExp
  readonly main: string
  readonly dependencies: Files
}

function browserApp(name: string, { recipe, main, dependencies }: BrowserAppOptions): App {
  const blocks = [[recipe, 'src/'] as const, [/^clients\.ts$/, 'src/'] as const]
  return guideApp({
    name,
    files: {
      ...guideFiles({ library: 'server/lib/', blocks: { 'docs/other-frameworks.md': blocks } }),
      ...FILES,
      'src/main.ts': main,
    },
    dependencies: {
      '@hono/node-server': '^2.1.8',
      hono: '^4.13.19',
      typescript: '^5.9.3',
      vite: '^8.3.8',
      ...dependencies,
    },
    builds: [
      ['typescript/bin/tsc'],
      ['vite/bin/vite.js', 'build'],
      ['vite/bin/vite.js', 'build', '--ssr', 'server/main.ts', '--outDir', 'built-server'],
    ],
    server: ['built-server/main.js'],
    isServerRendered: false,
  })
}
