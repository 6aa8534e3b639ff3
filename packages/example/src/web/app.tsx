import { Theme } from '@radix-ui/themes'
import { AuthProvider } from '@sallyport/trpc/react'
import { type QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Navigate, Route, Routes } from 'react-router'
import { type Clients, TRPCProvider } from './clients.ts'
import { onRecovery } from './connection.ts'
import { FormResultContext } from './form-result.ts'
import { Layout } from './layout.tsx'
import { NotFound } from './pages/not-found.tsx'
import type { Rendered } from './rendered.ts'
import { RoutePage } from './route-page.tsx'
import { HOME, routes } from './routes.tsx'
import { SessionEndedProvider } from './session-ended.tsx'
import { ClockProvider } from './ui/clock.tsx'
import { UsedLinkProvider } from './ui/use-link.tsx'

export interface AppProps extends Clients {
  readonly queryClient: QueryClient
  readonly rendered: Pick<Rendered, 'now' | 'form'>
}

/**
 * The app, below a router. User data belongs below `AuthProvider`, which remounts its children for another
 * user.
 */
export function App({ authClient, trpcClient, queryClient, rendered }: AppProps) {
  useEffect(
    () =>
      onRecovery(() => {
        void queryClient.invalidateQueries()
        if (authClient.getState().error !== null) void authClient.refresh()
      }),
    [authClient, queryClient],
  )
  return (
    <Theme accentColor="indigo" grayColor="slate" radius="large">
      <ClockProvider start={rendered.now}>
        <FormResultContext value={rendered.form}>
          <QueryClientProvider client={queryClient}>
            <SessionEndedProvider authClient={authClient}>
              <UsedLinkProvider>
                <AuthProvider client={authClient} queryClient={queryClient}>
                  <TRPCProvider trpcClient={trpcClient} queryClient={queryClient}>
                    <Layout>
                      <Routes>
                        {routes.map((route) => (
                          <Route key={route.path} path={route.path} element={<RoutePage route={route} />} />
                        ))}
                        <Route path="/" element={<Navigate to={HOME} replace />} />
                        <Route path="*" element={<NotFound />} />
                      </Routes>
                    </Layout>
                  </TRPCProvider>
                </AuthProvider>
              </UsedLinkProvider>
            </SessionEndedProvider>
          </QueryClientProvider>
        </FormResultContext>
      </ClockProvider>
    </Theme>
  )
}
