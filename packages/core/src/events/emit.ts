import type { AuthEvent, EventListener } from './event.ts'

/** Tells the app of an event. What its listener throws is its own affair: it is printed and changes no decision. */
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
