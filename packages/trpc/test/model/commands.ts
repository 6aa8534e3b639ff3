import fc from 'fast-check'
import type { Transport } from './transports.ts'

type Node = 0 | 1
type Browser = 0 | 1
/** The number of an earlier credential, session, or socket, modulo how many there are. */
type Index = number

/** The fields of each kind of step. */
interface Fields {
  'sign in': { node: Node; browser: Browser; password: 'current' | 'former' }
  call: { node: Node; browser: Browser; transport: Transport }
  'call with copies': { node: Node; jwt: Index; secret: Index; transport: Transport }
  connect: { node: Node; browser: Browser }
  'call on socket': { socket: Index }
  render: { node: Node; browser: Browser }
  refresh: { node: Node; browser: Browser }
  'refresh with a copy': { node: Node; secret: Index }
  'sign out': { node: Node; browser: Browser }
  'revoke own': { node: Node; browser: Browser; session: Index }
  'admin revokes': { node: Node; session: Index }
  'revoke behind a lock': { node: Node; session: Index }
  'row is deleted': { session: Index }
  'row expires': { session: Index }
  ban: { node: Node; seconds: number | null }
  unban: { node: Node }
  'ban by hand': { banned: boolean }
  'change password': { node: Node; browser: Browser; endsOthers: boolean; withSecret: boolean }
  'rotate keys': object
  'remove oldest key': { leaked: boolean }
  'time passes': { seconds: number }
  'reads fail': { node: Node; fail: boolean }
  'writes fail': { fail: boolean }
}

/** A step of a history, of one kind or of any. */
export type Command<Name extends keyof Fields = keyof Fields> = {
  [Each in Name]: { readonly do: Each } & Readonly<Fields[Each]>
}[Name]

const node = fc.constantFrom<Node[]>(0, 1)
const browser = fc.constantFrom<Browser[]>(0, 0, 0, 1)
const usually = fc.constantFrom(true, true, true, false)
const index = fc.nat(7)
const transport = fc.constantFrom<Transport[]>(
  'createCaller',
  'HTTP',
  'batch',
  'mutation',
  'events',
  'socket',
)
const seconds = fc.constantFrom(1, 29, 31, 61, 890, 899, 901, 86_401, 29 * 86_400, 31 * 86_400, -20)
const of = <Name extends keyof Fields>(name: Name) => fc.constant(name)

const command: fc.Arbitrary<Command> = fc.oneof(
  weigh(
    4,
    fc.record({
      do: of('sign in'),
      node,
      browser,
      password: fc.constantFrom('current', 'current', 'former'),
    }),
  ),
  weigh(6, fc.record({ do: of('call'), node, browser, transport })),
  weigh(6, fc.record({ do: of('call with copies'), node, jwt: index, secret: index, transport })),
  weigh(2, fc.record({ do: of('connect'), node, browser })),
  weigh(3, fc.record({ do: of('call on socket'), socket: index })),
  weigh(4, fc.record({ do: of('refresh'), node, browser })),
  weigh(3, fc.record({ do: of('refresh with a copy'), node, secret: index })),
  weigh(2, fc.record({ do: of('render'), node, browser })),
  weigh(1, fc.record({ do: of('sign out'), node, browser })),
  weigh(1, fc.record({ do: of('revoke own'), node, browser, session: index })),
  weigh(1, fc.record({ do: of('admin revokes'), node, session: index })),
  weigh(1, fc.record({ do: of('revoke behind a lock'), node, session: index })),
  weigh(1, fc.record({ do: of('row is deleted'), session: index })),
  weigh(1, fc.record({ do: of('row expires'), session: index })),
  weigh(2, fc.record({ do: of('ban'), node, seconds: fc.constantFrom(null, 60) })),
  weigh(1, fc.record({ do: of('unban'), node })),
  weigh(1, fc.record({ do: of('ban by hand'), banned: fc.boolean() })),
  weigh(
    2,
    fc.record({ do: of('change password'), node, browser, endsOthers: fc.boolean(), withSecret: usually }),
  ),
  weigh(1, fc.record({ do: of('rotate keys') })),
  weigh(1, fc.record({ do: of('remove oldest key'), leaked: fc.boolean() })),
  weigh(4, fc.record({ do: of('time passes'), seconds })),
  weigh(2, fc.record({ do: of('reads fail'), node, fail: fc.boolean() })),
  weigh(2, fc.record({ do: of('writes fail'), fail: fc.boolean() })),
)

function weigh<Value extends Command>(weight: number, arbitrary: fc.Arbitrary<Value>) {
  return { weight, arbitrary }
}

const MAX_STEPS = 16

/** Random histories, which shrink to fewer and simpler steps. */
export const histories: fc.Arbitrary<Command[]> = fc.array(command, {
  minLength: 1,
  maxLength: MAX_STEPS,
  size: 'max',
})
