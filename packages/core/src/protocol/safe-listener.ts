/**
 * Wraps a listener of the app, so that its errors, thrown or rejected, are printed and have no other effect.
 */
export function safeListener<Args extends readonly unknown[]>(
  listener: (...args: Args) => unknown,
): (...args: Args) => void {
  return (...args) => {
    const failed = (fault: unknown) => console.error('onError failed:', fault, ...args)
    try {
      Promise.resolve(listener(...args)).catch(failed)
    } catch (fault) {
      failed(fault)
    }
  }
}
