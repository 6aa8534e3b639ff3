import type { Named } from './route.ts'
import { specifierOf } from './trpc-files.ts'

interface ServerOptions {
  readonly path: string
  readonly router: Named
  /** The function of the app that creates its context. */
  readonly context: Named | null
  /** More options of `createNextAuth`. */
  readonly rest: string
}

/** Returns a file that serves the router and calls it from pages. The routes import it. */
export function nextServer({ path, router, context, rest }: ServerOptions): string {
  const isTaken = context?.name === 'createContext'
  const ours = isTaken ? 'addAuth' : 'createContext'
  const imports = [router, ...(context === null ? [] : [context])].map(
    (each) => `import { ${each.name} } from '${specifierOf(path, each.path)}'\n`,
  )
  return `import { createNextAuth } from '@sallyport/trpc/next'
import { authConfig } from '../auth.config'
import { auth, ${isTaken ? `createContext as ${ours}` : ours} } from '../context'
${imports.join('')}
export const { GET, OPTIONS, POST, actionCaller, getPage, pageContext } = createNextAuth({
  auth,
  config: authConfig,
  router${router.name === 'router' ? '' : `: ${router.name}`},
  createContext${context === null ? '' : `: (request) => ${context.name}(${ours}(request))`},
${rest === '' ? '' : `  ${rest}\n`}})
`
}

/** Returns the component that passes the user of a page to the providers of the app. */
export function userProviders(path: string, { name, path: providers }: Named): string {
  return `import { type ReactNode, Suspense } from 'react'
import { getPage } from '../server/next'
import { ${name} as Providers } from '${specifierOf(path, providers)}'

export function ${name}({ children }: { children: ReactNode }) {
  return (
    <Suspense>
      <User>{children}</User>
    </Suspense>
  )
}

async function User({ children }: { children: ReactNode }) {
  const page = await getPage()
  return <Providers user={page.state}>{children}</Providers>
}
`
}
