import type { Route } from '@sallyport/core/internal/protocol'

/** The steps from the name of a method to its path. */
const STEPS: readonly (readonly [RegExp, string])[] = [
  // getSession: session
  [/^(get|list)(?=Sessions?$)/, ''],
  // signInEmail: signIn/Email
  [/^sign(In|Up)/, '$&/'],
  [/^token$/, 'backend/$&'],
  [/^((list|revoke|reset)User|(un)?banUser|setRole$|listAudit)/, 'admin/$&'],
  [/^.*(Organization|Member|Invitation)/, 'organization/$&'],
  // organization/createOrganization: organization/create
  [/Organizations?$/, ''],
  // revokeCopies: revoke-Copies
  [/\B[A-Z]/g, '-$&'],
]

/** Returns a method's route. That is smaller than `ENDPOINTS`, which has the same routes. */
export function routeOf(name: string): Route {
  let path = name
  for (const [part, replacement] of STEPS) path = path.replace(part, replacement)
  return { method: /^(get|list|jwks|token)/.test(name) ? 'GET' : 'POST', path: `/${path.toLowerCase()}` }
}
