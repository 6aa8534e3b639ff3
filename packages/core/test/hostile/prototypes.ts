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

/** Returns every property of the built-in prototypes and its value, to detect prototype pollution. */
export function prototypes(): unknown[] {
  return BUILT_INS.flatMap(({ name, prototype }) =>
    Reflect.ownKeys(prototype).map((key) => [name, key, Reflect.getOwnPropertyDescriptor(prototype, key)]),
  )
}
