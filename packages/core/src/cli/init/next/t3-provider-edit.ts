import type { Edit } from '../edits.ts'

/** Returns the end of an import of a file in `src/`. */
export type From = (path: string) => string

/** Adds the auth client to the providers of create-t3-app. */
export function providerEdit(from: From): Edit {
  return {
    path: 'src/trpc/react.tsx',
    done: '@sallyport/trpc',
    replacements: [
      [
        'import { QueryClientProvider,',
        `import { authLink, createAuthClient } from "@sallyport/trpc/client";
import { AuthProvider } from "@sallyport/trpc/react";
import { type HydrationState } from "@sallyport/trpc/ssr";
import { QueryClientProvider,`,
      ],
      [
        `import { type AppRouter } ${from('server/api/root')}`,
        `import { type auth } ${from('context')}\nimport { type AppRouter } ${from('server/api/root')}`,
      ],
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
      ['      links: [\n', '      links: [\n        authLink(authClient),\n'],
      [
        '          url: getBaseUrl() + "/api/trpc",\n',
        '          url: getBaseUrl() + "/api/trpc",\n          fetch: authClient.fetch,\n          maxItems: 20,\n',
      ],
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
  }
}
