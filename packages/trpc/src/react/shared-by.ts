import { type Confirmation, createConfirmation } from './confirmation.ts'
import { type CurrentSession, createCurrentSession } from './current-session.ts'
import type { AuthQueryClient } from './follow-user.ts'
import type { HookClient } from './hook-client.ts'

/** What all providers of one client have in common. */
export interface Shared {
  readonly currentSession: CurrentSession
  readonly confirmation: Confirmation
  /** `userChanges` of the data in each query client. */
  readonly seen: WeakMap<AuthQueryClient, number>
}

const ofClients = new WeakMap<HookClient, Shared>()

/** One session is fetched and one dialog shown for a page, also where it has several trees of React. */
export function sharedBy(client: HookClient): Shared {
  const shared = ofClients.get(client) ?? {
    currentSession: createCurrentSession(client),
    confirmation: createConfirmation(client),
    seen: new WeakMap(),
  }
  ofClients.set(client, shared)
  return shared
}
