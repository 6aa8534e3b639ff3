import type { Route } from '@sallyport/core/internal/protocol'

/** The folders of paths, by the names of their methods. */
const FOLDERS = {
  'admin/': /(list|revoke)User|banUser|setRole|listAudit/,
  'backend/': /^token$/,
  'organization/': /Organization|Member|Invitation/,
}

/** Returns a method's route, as in `ENDPOINTS`. Its path has the words of its name, as `/sign-in/email`. */
export function routeOf(name: string): Route {
  const [folder = ''] = Object.entries(FOLDERS).find(([, names]) => names.test(name)) ?? []
  const path = name
    .replace(/^(get|list)(?=Sessions?$)|Organizations?/, '')
    .replace(/^sign(In|Up)/, '$&/')
    .replace(/\B[A-Z]/g, '-$&')
    .toLowerCase()
  return { method: /^(get|list|jwks|token)/.test(name) ? 'GET' : 'POST', path: `/${folder}${path}` }
}
