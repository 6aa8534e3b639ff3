import { addAfter, addBefore, type Edit } from '../edits.ts'

interface T3App {
  /** The start of imports from `src/`. */
  readonly alias: string
  readonly hasDatabase: boolean
}

/**
 * The edits to an app of create-t3-app with the App Router. `planT3` replaces its route. With its compiler
 * options, `import { type … }` imports the module, and Turbopack bundles it for the browser.
 */
export function t3Edits({ alias, hasDatabase }: T3App): Edit[] {
  const from = (path: string) => `from "${alias}${path}";`
  const context = `import type { Context } ${from('context')}`
  return [
    {
      path: 'src/server/api/trpc.ts',
      done: '@sallyport/trpc',
      isRequired: true,
      replacements: [
        addBefore(
          'import { initTRPC } from "@trpc/server";',
          'import { authErrorData, sessionMiddleware } from "@sallyport/trpc";\n',
        ),
        ...(hasDatabase
          ? ([
              [`import { db } ${from('server/db')}`, context],
              ['    db,\n', ''],
            ] as const)
          : [addAfter('import { ZodError } from "zod";', `\n\n${context}`)]),
        ['async (opts: { headers: Headers }) =>', 'async (opts: Context) =>'],
        ['errorFormatter({ shape, error })', 'errorFormatter({ shape, error, path })'],
        addAfter('        ...shape.data,\n', '        auth: authErrorData({ error, path }),\n'),
        addAfter(
          'export const publicProcedure = t.procedure.use(timingMiddleware);\n',
          `
/** Protected (authenticated) procedure, for signed-in users: \`ctx.user\` and \`ctx.session\` are set. */
export const protectedProcedure = publicProcedure.use(sessionMiddleware);
`,
        ),
      ],
    },
    {
      path: 'src/trpc/server.ts',
      done: '@sallyport/trpc',
      replacements: [
        addBefore('import { createHydrationHelpers }', 'import { Hydrated } from "@sallyport/trpc/next";\n'),
        ['import { cache } from "react";', 'import { cache, createElement, type ReactNode } from "react";'],
        addBefore('import { createQueryClient }', `import { getPage, pageContext } ${from('server/next')}\n`),
        addBefore('    headers: heads,\n', '    ...(await pageContext()),\n'),
        [
          '{ trpc: api, HydrateClient } = createHydrationHelpers<AppRouter>(\n  caller,\n  getQueryClient\n);\n',
          `{ trpc: api, HydrateClient: HydrateQueries } = createHydrationHelpers<AppRouter>(
  caller,
  getQueryClient
);

/** Hydrates the queries only for the user that the page was rendered for. */
export async function HydrateClient(props: { children: ReactNode }) {
  const { state: user } = await getPage();
  return createElement(Hydrated, { user }, createElement(HydrateQueries, props));
}
`,
        ],
      ],
    },
    {
      path: 'src/trpc/query-client.ts',
      done: '@sallyport/trpc',
      replacements: [
        addBefore(
          'import {\n  defaultShouldDehydrateQuery,',
          'import { authAwareRetry } from "@sallyport/trpc/client";\n',
        ),
        addAfter('        staleTime: 30 * 1000,\n', '        ...authAwareRetry,\n'),
      ],
    },
    {
      path: 'src/trpc/react.tsx',
      done: '@sallyport/trpc',
      replacements: [
        addBefore(
          'import { QueryClientProvider,',
          `import { authLink, createAuthClient } from "@sallyport/trpc/client";
import { AuthProvider } from "@sallyport/trpc/react";
import type { HydrationState } from "@sallyport/trpc/ssr";
`,
        ),
        addBefore(
          'import { createQueryClient } from "./query-client";',
          `import type { auth } ${from('context')}\n`,
        ),
        [
          'TRPCReactProvider(props: { children: React.ReactNode }) {\n  const queryClient = getQueryClient();\n',
          `TRPCReactProvider(props: {
  user: HydrationState;
  children: React.ReactNode;
}) {
  const queryClient = getQueryClient();
  const [authClient] = useState(() =>
    createAuthClient<typeof auth.api>({ hydrate: props.user })
  );
`,
        ],
        addAfter('      links: [\n', '        authLink(authClient),\n'),
        addAfter(
          '          url: getBaseUrl() + "/api/trpc",\n',
          '          fetch: authClient.fetch,\n          maxItems: 20,\n',
        ),
        [
          `      <api.Provider client={trpcClient} queryClient={queryClient}>
        {props.children}
      </api.Provider>
`,
          `      <AuthProvider client={authClient} queryClient={queryClient}>
        <api.Provider client={trpcClient} queryClient={queryClient}>
          {props.children}
        </api.Provider>
      </AuthProvider>
`,
        ],
      ],
    },
    {
      path: 'src/app/layout.tsx',
      done: 'getPage',
      replacements: [
        addBefore(
          `import { TRPCReactProvider } ${from('trpc/react')}`,
          `import { getPage } ${from('server/next')}\n`,
        ),
        ['export default function RootLayout', 'export default async function RootLayout'],
        ['<TRPCReactProvider>', '<TRPCReactProvider user={(await getPage()).state}>'],
      ],
    },
  ]
}
