/** Wraps a listener of the app, so its errors, thrown or rejected, are printed and ignored. */
export function safeListener<Args extends readonly unknown[]>(
  listener: (...args: Args) => unknown,
): (...args: Args) => void {
  return (...args) => {
    const call = async () => listener(...args)
    call().catch((fault: unknown) => console.error('onError failed:', fault, ...args))
  }
}
