import type { AuthEvent, EventListener } from './event.ts'

/** Calls the app's listener. A failure is printed and changes no decision. */
export function emit(event: AuthEvent, listener: EventListener | undefined): void {
  if (listener === undefined) return
  try {
    Promise.resolve(listener(event)).catch(report)
  } catch (error) {
    report(error)
  }
}

function report(error: unknown): void {
  console.error('onEvent failed:', error)
}
