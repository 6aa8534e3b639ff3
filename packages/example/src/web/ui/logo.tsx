import { GATES, HANDLES } from './icon.ts'

/** The logo of the app. */
export function Logo() {
  return (
    <svg className="logo" aria-hidden="true" width="24" height="24" viewBox="0 0 24 24">
      <path d={GATES} />
      <path className="handles" d={HANDLES} />
    </svg>
  )
}
