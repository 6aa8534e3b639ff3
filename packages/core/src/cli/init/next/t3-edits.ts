import type { Edit } from '../edits.ts'
import { type From, providerEdit } from './t3-provider-edit.ts'

interface T3App {
  /** The start of imports from `src/`. */
  readonly alias: string
  readonly hasDatabase: boolean
}

/** The edits to an app of create-t3-app with the App Router. `planT3` replaces its route. */
export function t3Edits({ alias, hasDatabase }: T3App): Edit[] {
  const from = (path: string) => `from "${alias}${path}";`
  return [
    {
      path: 'src/server/api/trpc.ts',
      done: '@sallyport/trpc',
      isRequired: true,
      replacements: [
        [
          'import { initTRPC } from "@trpc/server";',
          'import { authErrorData, sessionMiddleware } from "@sallyport/trpc";\nimport { initTRPC } from "@trpc/server";',
        ],
        ...contextEdits(from, hasDatabase),
        ['async (opts: { headers: Headers }) =>', 'async (opts: Context) =>'],
        ['errorFormatter({ shape, error })', 'errorFormatter({ shape, error, path })'],
        [
          '        ...shape.data,\n',
          '        ...shape.data,\n        auth: authErrorData({ error, path }),\n',
        ],
        [
          'export const publicProcedure = t.procedure.use(timingMiddleware);\n',
          `export const publicProcedure = t.procedure.use(timingMiddleware);

/** Protected (authenticated) procedure, for signed-in users: \`ctx.user\` and \`ctx.session\` are set. */
export const protectedProcedure = publicProcedure.use(sessionMiddleware);
`,
        ],
      ],
    },
    {
      path: 'src/trpc/server.ts',
      done: '@sallyport/trpc',
      replacements: [
        [
          'import { createHydrationHelpers }',
          'import { Hydrated } from "@sallyport/trpc/next";\nimport { createHydrationHelpers }',
        ],
        ['import { cache } from "react";', 'import { cache, createElement, type ReactNode } from "react";'],
        [
          'import { createQueryClient }',
          `import { getPage, pageContext } ${from('server/next')}\nimport { createQueryClient }`,
        ],
        ['    headers: heads,\n', '    ...(await pageContext()),\n    headers: heads,\n'],
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
        [
          'import {\n  defaultShouldDehydrateQuery,',
          'import { authAwareRetry } from "@sallyport/trpc/client";\nimport {\n  defaultShouldDehydrateQuery,',
        ],
        ['        staleTime: 30 * 1000,\n', '        staleTime: 30 * 1000,\n        ...authAwareRetry,\n'],
      ],
    },
    providerEdit(from),
    {
      path: 'src/app/layout.tsx',
      done: 'getPage',
      replacements: [
        [
          `import { TRPCReactProvider } ${from('trpc/react')}`,
          `import { getPage } ${from('server/next')}\nimport { TRPCReactProvider } ${from('trpc/react')}`,
        ],
        ['export default function RootLayout', 'export default async function RootLayout'],
        ['<TRPCReactProvider>', '<TRPCReactProvider user={(await getPage()).state}>'],
      ],
    },
  ]
}

function contextEdits(from: From, hasDatabase: boolean): Edit['replacements'] {
  const type = `import { type Context } ${from('context')}`
  if (!hasDatabase) return [['import { ZodError } from "zod";', `import { ZodError } from "zod";\n\n${type}`]]
  return [
    [`import { db } ${from('server/db')}`, type],
    ['    db,\n', ''],
  ]
}
