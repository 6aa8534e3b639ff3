import assert from 'node:assert/strict'
import type { App } from './app.ts'
import { fetchAs } from './fetch-as.ts'
import { guideApp } from './guide-app.ts'
import { guideFiles } from './guide-files.ts'

/** Files that the guide doesn't have. The first three are those of create-react-router. */
const FILES = {
  'vite.config.ts': `import { reactRouter } from '@react-router/dev/vite'
import { defineConfig } from 'vite'

export default defineConfig({ plugins: [reactRouter()] })
`,
  'tsconfig.json': JSON.stringify({
    include: ['**/*', '**/.server/**/*', '**/.client/**/*', '.react-router/types/**/*'],
    compilerOptions: {
      lib: ['DOM', 'DOM.Iterable', 'ES2022', 'ESNext.Disposable'],
      types: ['node', 'vite/client'],
      target: 'ES2022',
      module: 'ES2022',
      moduleResolution: 'bundler',
      jsx: 'react-jsx',
      rootDirs: ['.', './.react-router/types'],
      paths: { '~/*': ['./app/*'] },
      esModuleInterop: true,
      verbatimModuleSyntax: true,
      noEmit: true,
      resolveJsonModule: true,
      skipLibCheck: true,
      strict: true,
    },
  }),
  'app/root.tsx': `import { Links, Meta, Outlet, Scripts, ScrollRestoration } from 'react-router'

export default function Root() {
  return (
    <html lang="en">
      <head>
        <meta charSet="utf-8" />
        <Meta />
        <Links />
      </head>
      <body>
        <Outlet />
        <ScrollRestoration />
        <Scripts />
      </body>
    </html>
  )
}
`,
  'app/use-exposed-client.ts': `import type { AuthClient } from '@sallyport/trpc/client'
import { useAuth } from '@sallyport/trpc/react'
import { useEffect } from 'react'
import { useNavigate } from 'react-router'
import type { auth } from '../context'

export function useExposedClient() {
  const { client } = useAuth<AuthClient<typeof auth.api>>()
  const push = useNavigate()
  useEffect(() => {
    Object.assign(window, { client, router: { push } })
  })
  return client
}
`,
  'app/home.tsx': `import { useExposedClient } from './use-exposed-client'

export default function Home() {
  useExposedClient()
  return <p>Home</p>
}
`,
  'app/profile.tsx': `import { authLink, subscriptionLink } from '@sallyport/trpc/client'
import { useQuery } from '@tanstack/react-query'
import { createTRPCClient } from '@trpc/client'
import { useEffect, useState } from 'react'
import type { AppRouter } from '../router'
import { useTRPC } from './providers'
import { useExposedClient } from './use-exposed-client'

export function Profile() {
  const client = useExposedClient()
  const [tick, setTick] = useState(0)
  useEffect(() => {
    const links = [authLink<AppRouter>(client), subscriptionLink<AppRouter>(client, { url: '/api/trpc' })]
    const trpc = createTRPCClient<AppRouter>({ links })
    const ticks = trpc.ticks.subscribe(undefined, { onData: setTick })
    return () => ticks.unsubscribe()
  }, [client])
  const me = useQuery(useTRPC().me.queryOptions())
  return (
    <>
      <p>{me.data?.email}</p>
      <p>tick {tick}</p>
    </>
  )
}
`,
}

// The latest version of all four packages.
const REACT_ROUTER = '~8.4.0'

/** The app of docs/react-router.md. */
export const reactRouterApp: App = guideApp({
  name: 'react-router',
  files: {
    ...guideFiles({
      library: '',
      blocks: {
        'docs/nextjs.md': [[/^app\/providers\.tsx$/, '']],
        'docs/react-router.md': [[/^app\//, '']],
      },
    }),
    ...FILES,
  },
  dependencies: {
    '@react-router/dev': REACT_ROUTER,
    '@react-router/node': REACT_ROUTER,
    '@react-router/serve': REACT_ROUTER,
    '@tanstack/react-query': '^5.80.0',
    '@trpc/tanstack-react-query': '^11.4.4',
    '@types/react': '^19.3.0',
    '@types/react-dom': '^19.3.0',
    isbot: '^5.2.3',
    react: '^19.2.7',
    'react-dom': '^19.2.7',
    'react-router': REACT_ROUTER,
    typescript: '^5.9.3',
    vite: '^8.3.8',
  },
  builds: [
    ['@react-router/dev/bin.cjs', 'typegen'],
    ['typescript/bin/tsc'],
    ['@react-router/dev/bin.cjs', 'build'],
  ],
  server: ['node_modules/@react-router/serve/bin.cjs', 'build/server/index.js'],
  prove: proveActions,
})

/** Submits a form as a browser without scripts does. */
async function proveActions({ origin }: { readonly origin: string }): Promise<void> {
  const user = { email: 'alan@example.com', password: 'a long enough password', name: 'Alan' }
  const cookie = (await fetchAs(origin, user)).header()
  const submit = async (sent: Readonly<Record<string, string>>) => {
    const response = await fetch(`${origin}/me`, { method: 'POST', headers: sent, body: new FormData() })
    await response.arrayBuffer()
    return [response.status, ...response.headers.getSetCookie().map((setCookie) => setCookie.split('=')[0])]
  }
  const withoutJwt = cookie.replace(/[^; ]+\.jwt=[^;]*;? ?/, '')
  assert.deepEqual(
    {
      ofUser: await submit({ cookie, origin }),
      withoutJwt: await submit({ cookie: withoutJwt, origin }),
      withoutSession: await submit({ origin }),
      ofOtherSite: await submit({ cookie, origin: 'https://example.com' }),
      withoutOrigin: await submit({ cookie }),
    },
    {
      ofUser: [200],
      withoutJwt: [200, 'service.jwt'],
      withoutSession: [500],
      ofOtherSite: [400],
      withoutOrigin: [500],
    },
  )
}
