/**
 * Sets the theme before the first paint, so the page doesn't flash. Also passes the nonce of the page to
 * libraries that add style elements.
 */
export const APPEARANCE_SCRIPT = `
const stored = localStorage.getItem('appearance')
const isDark = stored === null ? matchMedia('(prefers-color-scheme: dark)').matches : stored === 'dark'
document.documentElement.classList.add(isDark ? 'dark' : 'light')
globalThis.__webpack_nonce__ = document.currentScript.nonce`

/** Switches between light and dark, and remembers it. */
export function toggleAppearance(): void {
  const { classList } = document.documentElement
  const isDark = classList.toggle('dark')
  classList.toggle('light', !isDark)
  localStorage.setItem('appearance', isDark ? 'dark' : 'light')
}
