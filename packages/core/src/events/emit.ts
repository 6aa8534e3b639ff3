import type { AuthEvent, EventListener } from './event.ts'

/** Calls the app's listener. A failure is printed and changes no decision. */
export function emit(event: AuthEvent, listener: EventListener | undefined): void {
  const call = async () => listener?.(event)
  call().catch((error: unknown) => console.error('onEvent failed:', error))
}
