import type { Route } from '@sallyport/core/internal/protocol'

/** Returns a method's route. That is smaller than `ENDPOINTS`, which has the same routes. */
export function routeOf(name: string): Route {
  const path = name
    // signInEmail: signIn/Email
    .replace(/^sign(In|Up)/, '$&/')
    .replace(/^token$/, 'backend/$&')
    .replace(/^((list|revoke|reset|(un)?ban)User|setRole|listAudit)/, 'admin/$&')
    .replace(/^.*(Organization|Member|Invitation)/, 'organization/$&')
    // organization/createOrganization: organization/create; getSession: session
    .replace(/Organizations?$|^(get|list)(?=Sessions?$)/, '')
    // revokeCopies: revoke-Copies
    .replace(/\B[A-Z]/g, '-$&')
  return { method: /^(get|list|jwks|token)/.test(name) ? 'GET' : 'POST', path: `/${path.toLowerCase()}` }
}
