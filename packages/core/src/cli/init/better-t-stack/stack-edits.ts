import { addAfter, addBefore, type Edit } from '../edits.ts'
import { FORMATTER } from '../templates.ts'

/** The edits to an app of create-better-t-stack with Hono and TanStack Router. */
export const STACK_EDITS: readonly Edit[] = [
  {
    path: 'apps/server/.env.schema',
    done: 'SIGNING_KEYS',
    replacements: [
      addAfter(
        '# @type=string(minLength=1)\nDATABASE_URL=\n',
        '\n# @type=url\nBASE_URL=http://localhost:3000\nJWKS=\nSIGNING_KEYS=\n',
      ),
    ],
  },
  {
    path: 'apps/server/src/context.ts',
    done: 'authContext',
    replacements: [
      ['import type { Context as HonoContext } from "hono";\n', ''],
      addBefore(
        'import type { Context as ApiContext }',
        'import type { HandlerContextOptions } from "@sallyport/trpc";\n',
      ),
      ['import { db } from "./services";', 'import { authContext } from "./auth-server";'],
      ['export type CreateContextOptions = {\n  context: HonoContext;\n};\n\n', ''],
      ['_options: CreateContextOptions', 'options: HandlerContextOptions'],
      ['    db,\n', '    ...authContext(options),\n'],
    ],
  },
  {
    path: 'apps/server/src/index.ts',
    done: 'createHandler',
    replacements: [
      [
        'import { trpcServer } from "@hono/trpc-server";\n',
        'import { getConnInfo } from "@hono/node-server/conninfo";\nimport { createHandler, drain } from "@sallyport/trpc";\n',
      ],
      ['import { cors } from "hono/cors";\n', ''],
      [
        'import { createContext } from "./context";\nimport { ENV } from "./env.server";\n',
        'import { auth } from "./auth-server";\nimport { authConfig } from "./auth.config";\nimport { createContext } from "./context";\n',
      ],
      [
        'app.use(\n  "/*",\n  cors({\n    origin: ENV.CORS_ORIGIN,\n    allowMethods: ["GET", "POST", "OPTIONS"],\n  }),\n);\n\n',
        '',
      ],
      [
        'app.use(\n  "/trpc/*",\n  trpcServer({\n    router: appRouter,\n    createContext: (_opts, context) => {\n      return createContext({ context });\n    },\n  }),\n);\n',
        `const handle = createHandler({ auth, config: authConfig, router: appRouter, createContext });
for (const path of ["/api/auth/*", "/trpc/*"]) {
  app.all(path, (c) => handle(c.req.raw, { remoteAddress: getConnInfo(c).remote.address }));
}
`,
      ],
      [
        '\nserve(\n',
        '\nawait auth.ready();\nprocess.once("SIGTERM", () => drain({ auth, server }));\nconst server = serve(\n',
      ],
    ],
  },
  {
    path: 'packages/api/src/context.ts',
    done: '@sallyport/trpc',
    replacements: [
      addBefore(
        'import type { Database }',
        'import type { AuthDatabase } from "@sallyport/core";\nimport type { AuthContext } from "@sallyport/trpc";\n',
      ),
      [
        'export type Context = {\n  db: Database;\n',
        'export type Context = AuthContext & {\n  db: Database & AuthDatabase;\n',
      ],
    ],
  },
  {
    path: 'packages/api/src/index.ts',
    done: '@sallyport/trpc',
    replacements: [
      addBefore(
        'import { initTRPC }',
        'import { authErrorData, sessionMiddleware } from "@sallyport/trpc";\n',
      ),
      ['.create();\n', `.create({\n  ${FORMATTER},\n});\n`],
      addAfter(
        'export const publicProcedure = t.procedure;\n',
        '\nexport const protectedProcedure = t.procedure.use(sessionMiddleware);\n',
      ),
    ],
  },
  {
    path: 'apps/web/src/main.tsx',
    done: 'AuthProvider',
    replacements: [
      addBefore('import { QueryClientProvider }', 'import { AuthProvider } from "@sallyport/trpc/react";\n'),
      addBefore('import { queryClient, trpc }', 'import { authClient } from "./utils/auth-client";\n'),
      [
        '<QueryClientProvider client={queryClient}>{children}</QueryClientProvider>;',
        `(
      <AuthProvider client={authClient} queryClient={queryClient}>
        <QueryClientProvider client={queryClient}>{children}</QueryClientProvider>
      </AuthProvider>
    );`,
      ],
    ],
  },
]
