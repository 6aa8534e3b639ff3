/** True where two types are the very same. */
export type Same<A, B> =
  (<Probe>() => Probe extends A ? 1 : 2) extends <Probe>() => Probe extends B ? 1 : 2 ? true : false

/** Does not compile unless every claim is true. */
export function holds<Claim extends true>(): Claim[] {
  return []
}
