import { matchPath } from 'react-router'
import { HOME, type PageUrl, type Route, routes } from './routes.tsx'

/** Returns the route of a path and its parameters. */
export function matchPage(pathname: string): { route: Route | undefined; params: PageUrl['params'] } {
  const route = routes.find(({ path }) => matchPath(path, pathname))
  return { route, params: (route && matchPath(route.path, pathname)?.params) ?? {} }
}

/** Returns where to go after a sign-in: one of our own pages, never another site. */
export function nextPath(next: string | null): string {
  if (next === null || !URL.canParse(next, 'http://localhost')) return HOME
  const { pathname } = new URL(next, 'http://localhost')
  const { route } = matchPage(pathname)
  return route === undefined || route.audience === 'guests' ? HOME : pathname
}
