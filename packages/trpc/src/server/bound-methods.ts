/**
 * Returns a function that creates an object with all methods, bound to a request. The methods are created
 * once, as a prototype, so binding a request costs one object.
 */
export function boundMethods<Request extends object>(
  methods: Iterable<readonly [name: string, bind: (request: Request) => unknown]>,
): (request: Request) => object {
  const requests = new WeakMap<object, Request>()
  const prototype = {}
  for (const [name, bind] of methods) {
    Object.defineProperty(prototype, name, {
      enumerable: true,
      // A destructured method stays bound to its request.
      get(this: object) {
        const request = requests.get(this)
        return request && bind(request)
      },
    })
  }
  return (request) => {
    const bound = Object.create(prototype)
    requests.set(bound, request)
    return bound
  }
}
