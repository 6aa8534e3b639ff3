/** A listener of the app whose own failure, at once or later, is printed and changes nothing. */
export function safely<Args extends readonly unknown[]>(
  listener: (...args: Args) => unknown,
): (...args: Args) => void {
  const failed = (fault: unknown) => console.error('onError failed:', fault)
  return (...args) => {
    try {
      Promise.resolve(listener(...args)).catch(failed)
    } catch (fault) {
      failed(fault)
    }
  }
}
