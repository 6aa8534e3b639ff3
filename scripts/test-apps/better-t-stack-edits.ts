import type { Edits } from './edit-files.ts'

/** What the app does without authentication. */
export const FEATURES: Edits = {
  'packages/api/src/routers/index.ts': [
    [`import {`, `import * as z from "zod";\nimport {`],
    [
      `  healthCheck:`,
      `  me: publicProcedure.query(() => ({ email: "anonymous" })),
  save: publicProcedure.input(z.string()).mutation(({ input }) => input.length),
  ticks: publicProcedure.subscription(async function* ({ signal }) {
    for (let tick = 1; !signal?.aborted; tick++) {
      yield tick;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }),
  healthCheck:`,
    ],
  ],
  'apps/server/src/index.ts': [[`port: 3000,`, `port: Number(process.env.PORT),`]],
  'apps/web/src/components/header.tsx': [[`label: "Home"`, `label: "Start"`]],
  'apps/web/src/routes/index.tsx': [
    [`<div className="grid gap-6">`, `<p>Home</p>\n      <div className="grid gap-6">`],
  ],
  'apps/web/src/utils/trpc.ts': [
    [
      `import { createTRPCClient, httpBatchLink }`,
      `import { createTRPCClient, httpBatchLink, httpSubscriptionLink, splitLink }`,
    ],
    [
      `export const trpcClient`,
      `const url = \`\${ENV.VITE_SERVER_URL.replace(/\\/$/, "")}/trpc\`;\n\nexport const trpcClient`,
    ],
    [
      `    httpBatchLink({\n      url: \`\${ENV.VITE_SERVER_URL.replace(/\\/$/, "")}/trpc\`,\n    }),\n`,
      `    splitLink({
      condition: ({ type }) => type === "subscription",
      true: httpSubscriptionLink({ url }),
      false: httpBatchLink({ url }),
    }),
`,
    ],
  ],
  'apps/web/src/routes/me.tsx': `import { useQuery } from "@tanstack/react-query";
import { createFileRoute } from "@tanstack/react-router";
import { useSubscription } from "@trpc/tanstack-react-query";

import { trpc } from "@/utils/trpc";

export const Route = createFileRoute("/me")({
  component: Me,
});

function Me() {
  const { data } = useQuery(trpc.me.queryOptions());
  const ticks = useSubscription(trpc.ticks.subscriptionOptions());
  return (
    <>
      <p>{data?.email}</p>
      <p>tick {ticks.data}</p>
    </>
  );
}
`,
}

/** What protects it. */
export const PROTECTION: Edits = {
  'packages/api/src/context.ts': [
    [
      `import type { Database }`,
      `import type { AuthDatabase } from "@sallyport/core";
import type { AuthContext } from "@sallyport/trpc";
import type { Database }`,
    ],
    [
      `export type Context = {\n  db: Database;`,
      `export type Context = AuthContext & {\n  db: Database & AuthDatabase;`,
    ],
  ],
  'packages/api/src/index.ts': [
    [
      `import { initTRPC }`,
      `import { authErrorData, sessionMiddleware } from "@sallyport/trpc";\nimport { initTRPC }`,
    ],
    [
      `.create();`,
      `.create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
});`,
    ],
    [
      `export const publicProcedure = t.procedure;`,
      `export const publicProcedure = t.procedure;

export const protectedProcedure = t.procedure.use(sessionMiddleware);`,
    ],
  ],
  'packages/api/src/routers/index.ts': [
    [`{ publicProcedure, router }`, `{ protectedProcedure, publicProcedure, router }`],
    [
      `me: publicProcedure.query(() => ({ email: "anonymous" }))`,
      `me: protectedProcedure.query(({ ctx }) => ctx.user)`,
    ],
    [`save: publicProcedure`, `save: protectedProcedure`],
    [`ticks: publicProcedure`, `ticks: protectedProcedure`],
  ],
  'apps/server/.env.schema': [[`DATABASE_URL=\n`, `DATABASE_URL=\n\nBASE_URL=\nJWKS=\nSIGNING_KEYS=\n`]],
  'apps/server/src/auth.config.ts': `import { defineAuthConfig, staticJwks } from "@sallyport/core";

import { ENV } from "./env.server";

export const authConfig = defineAuthConfig({
  baseUrl: ENV.BASE_URL,
  jwks: staticJwks(ENV.JWKS),
  allowedOrigins: [ENV.CORS_ORIGIN],
});
`,
  'apps/server/src/auth.ts': `import { withAuthStore } from "@sallyport/core";
import { createAuth, defineAuth } from "@sallyport/core/auth";
import { emailPassword } from "@sallyport/core/plugins/email-password";
import { openSqlite } from "@sallyport/core/sqlite";
import { createAuthContext } from "@sallyport/trpc";

import { authConfig } from "./auth.config";
import { ENV } from "./env.server";
import { db } from "./services";

const definition = defineAuth({
  config: authConfig,
  signingKeys: ENV.SIGNING_KEYS,
  plugins: [emailPassword()],
});

export const auth = createAuth(definition, () => openSqlite({ client: db.$client }));
export const authContext = createAuthContext(authConfig, auth);
export const authDb = withAuthStore(db, auth.store);
`,
  'apps/server/src/context.ts': [
    [
      `import type { Context as ApiContext }`,
      `import type { HandlerContextOptions } from "@sallyport/trpc";\nimport type { Context as ApiContext }`,
    ],
    [`import type { Context as HonoContext } from "hono";\n`, ``],
    [`import { db } from "./services"`, `import { authContext, authDb } from "./auth"`],
    [`export type CreateContextOptions = {\n  context: HonoContext;\n};\n\n`, ``],
    [`_options: CreateContextOptions`, `options: HandlerContextOptions`],
    [`    db,\n`, `    ...authContext.http(options),\n    db: authDb,\n`],
  ],
  'apps/server/src/index.ts': [
    [
      `import { trpcServer } from "@hono/trpc-server";\n`,
      `import { getConnInfo } from "@hono/node-server/conninfo";\nimport { createHandler } from "@sallyport/trpc";\n`,
    ],
    [`import { cors } from "hono/cors";\n`, ``],
    [
      `import { createContext } from "./context";\nimport { ENV } from "./env.server";\n`,
      `import { auth } from "./auth";\nimport { authConfig } from "./auth.config";\nimport { createContext } from "./context";\n`,
    ],
    [
      `app.use(
  "/*",
  cors({
    origin: ENV.CORS_ORIGIN,
    allowMethods: ["GET", "POST", "OPTIONS"],
  }),
);

app.use(
  "/trpc/*",
  trpcServer({
    router: appRouter,
    createContext: (_opts, context) => {
      return createContext({ context });
    },
  }),
);
`,
      `const handle = createHandler({
  auth,
  config: authConfig,
  router: appRouter,
  createContext,
});
for (const path of ["/api/auth/*", "/trpc/*"]) {
  app.all(path, (c) => handle(c.req.raw, { remoteAddress: getConnInfo(c).remote.address }));
}
`,
    ],
    [`serve(\n`, `await auth.ready();\nserve(\n`],
  ],
  'apps/web/src/utils/auth-client.ts': `import { createAuthClient } from "@sallyport/trpc/client";

import { ENV } from "../env";

export const authClient = createAuthClient({ baseUrl: ENV.VITE_SERVER_URL });
`,
  'apps/web/src/utils/trpc.ts': [
    [
      `import type { AppRouter }`,
      `import { authAwareRetry, authLink, subscriptionLink } from "@sallyport/trpc/client";\nimport type { AppRouter }`,
    ],
    [`httpBatchLink, httpSubscriptionLink, splitLink`, `httpBatchLink, splitLink`],
    [`import { ENV }`, `import { authClient } from "./auth-client";\nimport { ENV }`],
    [`new QueryClient({\n`, `new QueryClient({\n  defaultOptions: { queries: { ...authAwareRetry } },\n`],
    [`    splitLink({`, `    authLink(authClient),\n    splitLink({`],
    [`httpSubscriptionLink({ url })`, `subscriptionLink(authClient, { url })`],
    [`httpBatchLink({ url })`, `httpBatchLink({ url, fetch: authClient.fetch, maxItems: 20 })`],
  ],
  'apps/web/src/main.tsx': [
    [
      `import { QueryClientProvider }`,
      `import { AuthProvider } from "@sallyport/trpc/react";\nimport { QueryClientProvider }`,
    ],
    [
      `import { queryClient, trpc }`,
      `import { authClient } from "./utils/auth-client";\nimport { queryClient, trpc }`,
    ],
    [
      `<QueryClientProvider client={queryClient}>{children}</QueryClientProvider>;`,
      `(
      <AuthProvider client={authClient} queryClient={queryClient}>
        <QueryClientProvider client={queryClient}>{children}</QueryClientProvider>
      </AuthProvider>
    );`,
    ],
  ],
  'apps/web/src/routes/me.tsx': [
    [
      `import { useQuery }`,
      `import { SignedIn, SignedOut } from "@sallyport/trpc/react";\nimport { useQuery }`,
    ],
    [`import { createFileRoute }`, `import { Navigate, createFileRoute }`],
    [
      `  component: Me,`,
      `  component: () => (
    <>
      <SignedOut>
        <Navigate to="/" replace />
      </SignedOut>
      <SignedIn>
        <Me />
      </SignedIn>
    </>
  ),`,
    ],
  ],
}

/** What the proofs use. */
export const GLOBALS: Edits = {
  'apps/server/src/index.ts': [[`createHandler({\n`, `createHandler({\n  maxBodySize: 100_000,\n`]],
  'apps/web/src/main.tsx': [
    [
      `const rootElement`,
      `const push = (to: "/" | "/me") => router.navigate({ to });
Object.assign(window, { client: authClient, router: { push } });

const rootElement`,
    ],
  ],
}
