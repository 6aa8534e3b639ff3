import { useQueryClient } from '@tanstack/react-query'
import { useSubscription } from '@trpc/tanstack-react-query'
import type { Topic } from '../live.ts'
import { useTRPC } from './clients.ts'

/** Fetches again what the server says has changed. */
export function useLive(): void {
  const trpc = useTRPC()
  const fetchAgain = useFetchAgain()
  useSubscription(trpc.live.mine.subscriptionOptions(undefined, { onData: fetchAgain }))
}

/** The same for what admins see of everyone. */
export function useLiveForAdmins(): void {
  const trpc = useTRPC()
  const fetchAgain = useFetchAgain()
  useSubscription(trpc.live.everyone.subscriptionOptions(undefined, { onData: fetchAgain }))
}

function useFetchAgain(): (topic: Topic) => void {
  const trpc = useTRPC()
  const queryClient = useQueryClient()
  const filters = {
    notes: trpc.notes.pathFilter(),
    reports: trpc.report.list.queryFilter(),
    sessions: trpc.sessions.pathFilter(),
    account: trpc.me.queryFilter(),
    users: trpc.admin.pathFilter(),
    all: {},
  }
  return (topic) => void queryClient.invalidateQueries(filters[topic])
}
