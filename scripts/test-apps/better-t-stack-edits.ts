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

/** The lines by hand: guards, and a page for users. */
export const GUARDS: Edits = {
  'packages/api/src/routers/index.ts': [
    [`{ publicProcedure, router }`, `{ protectedProcedure, publicProcedure, router }`],
    [
      `me: publicProcedure.query(() => ({ email: "anonymous" }))`,
      `me: protectedProcedure.query(({ ctx }) => ctx.user)`,
    ],
    [`save: publicProcedure`, `save: protectedProcedure`],
    [`ticks: publicProcedure`, `ticks: protectedProcedure`],
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
  'apps/server/src/index.ts': [[`createHandler({`, `createHandler({ maxBodySize: 100_000,`]],
  'apps/web/src/main.tsx': [
    [
      `const rootElement`,
      `const push = (to: "/" | "/me") => router.navigate({ to });
Object.assign(window, { client: authClient, router: { push } });

const rootElement`,
    ],
  ],
}
