import { editFiles } from './edit-files.ts'

/** The pages of the contract of `proveApp`, in the style of the app. */
const PAGES = {
  'src/app/me/page.tsx': `import { redirect } from "next/navigation";

import { Me } from "~/app/me/me";
import { getPage } from "~/server/next";
import { api, HydrateClient } from "~/trpc/server";

export default async function MePage() {
  const page = await getPage();
  if (page.state.status !== "authenticated") redirect("/");
  void api.me.prefetch();
  return (
    <HydrateClient>
      <Me />
    </HydrateClient>
  );
}
`,
  'src/app/me/me.tsx': `"use client";

import { api } from "~/trpc/react";

export function Me() {
  const [me] = api.me.useSuspenseQuery();
  const ticks = api.ticks.useSubscription();
  return (
    <>
      <p>{me.email}</p>
      <p>tick {ticks.data}</p>
    </>
  );
}
`,
  'src/app/page.tsx': `export default function HomePage() {
  return <p>Home</p>;
}
`,
  'src/app/template.tsx': `"use client";

import { useAuth } from "@sallyport/trpc/react";
import { useRouter } from "next/navigation";
import { type ReactNode, useEffect } from "react";

export default function Template({ children }: { children: ReactNode }) {
  const { client } = useAuth();
  const router = useRouter();
  useEffect(() => {
    Object.assign(window, { client, router });
  });
  return children;
}
`,
}

export const PROCEDURES = `  post: postRouter,
  me: protectedProcedure.query(({ ctx }) => ctx.user),
  save: protectedProcedure
    .input((text) => String(text).length)
    .mutation(({ input }) => input),
  ticks: protectedProcedure.subscription(async function* ({ signal }) {
    for (let tick = 1; !signal?.aborted; tick++) {
      yield tick;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }),
`

/** Adds what `proveApp` needs: two pages, three procedures, larger bodies, and a link for subscriptions. */
export function addProofs(cwd: string): void {
  editFiles(cwd, {
    ...PAGES,
    'src/server/api/root.ts': [
      ['createTRPCRouter }', 'createTRPCRouter, protectedProcedure }'],
      ['  post: postRouter,\n', PROCEDURES],
    ],
    'src/server/next.ts': [['router: appRouter,', 'router: appRouter,\n  maxBodySize: 100_000,']],
    'src/trpc/react.tsx': [
      ['createAuthClient }', 'createAuthClient, subscriptionLink }'],
      ['loggerLink }', 'loggerLink, splitLink }'],
      [
        '        httpBatchStreamLink({',
        `        splitLink({
          condition: ({ type }) => type === "subscription",
          true: subscriptionLink(authClient, { url: "/api/trpc", transformer: SuperJSON }),
          false: httpBatchStreamLink({`,
      ],
      ['          },\n        }),\n      ],\n', '          },\n        }) }),\n      ],\n'],
    ],
  })
}
