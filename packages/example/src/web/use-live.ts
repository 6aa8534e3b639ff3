import { useQueryClient } from '@tanstack/react-query'
import { useSubscription } from '@trpc/tanstack-react-query'
import type { Topic } from '../live.ts'
import { useTRPC } from './clients.ts'

/** Fetches the user's data again when the server reports a change. */
export function useLive(): void {
  const trpc = useTRPC()
  const invalidate = useInvalidate()
  useSubscription(trpc.live.mine.subscriptionOptions(undefined, { onData: invalidate }))
}

/** Fetches the data of an admin's pages again when any user changes. */
export function useLiveForAdmins(): void {
  const trpc = useTRPC()
  const invalidate = useInvalidate()
  useSubscription(trpc.live.everyone.subscriptionOptions(undefined, { onData: invalidate }))
}

function useInvalidate(): (topic: Topic) => void {
  const trpc = useTRPC()
  const queryClient = useQueryClient()
  const filters = {
    notes: trpc.notes.pathFilter(),
    reports: trpc.report.list.queryFilter(),
    sessions: trpc.sessions.pathFilter(),
    account: trpc.me.queryFilter(),
    organizations: trpc.organizations.pathFilter(),
    users: trpc.admin.pathFilter(),
    all: {},
  }
  return (topic) => void queryClient.invalidateQueries(filters[topic])
}
