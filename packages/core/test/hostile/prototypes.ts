const BUILT_INS = [
  Object,
  Array,
  Function,
  String,
  Number,
  Boolean,
  Symbol,
  Error,
  Promise,
  Map,
  Set,
  Date,
  RegExp,
  Uint8Array,
]

/** Every property of the built-in prototypes with what it holds: equal before and after, unless somebody polluted one. */
export function prototypes(): unknown[] {
  return BUILT_INS.flatMap(({ name, prototype }) =>
    Reflect.ownKeys(prototype).map((key) => [name, key, Reflect.getOwnPropertyDescriptor(prototype, key)]),
  )
}
