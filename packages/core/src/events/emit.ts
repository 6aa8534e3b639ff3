import type { AuthEvent, EventListener } from './event.ts'

/**
 * Calls a listener and doesn't wait for it. A failure changes no decision. The listener of a configuration
 * reports its failures and never rejects, so only another `SessionDatabase.onEvent` needs the console.
 */
export function emit(event: AuthEvent, listener: EventListener | undefined): void {
  const call = async () => listener?.(event)
  call().catch((error: unknown) => console.error('onEvent failed:', error))
}
