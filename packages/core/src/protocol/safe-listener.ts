/** A listener of the app whose own failure, at once or later, is printed, changes nothing and does not end the process. */
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
