/**
 * Sets the theme before the first paint, so the page doesn't flash. Also passes the nonce of the page to
 * libraries that add style elements. A browser that blocks cookies throws at `localStorage`.
 */
export const APPEARANCE_SCRIPT = `
let isDark = matchMedia('(prefers-color-scheme: dark)').matches
try {
  isDark = (localStorage.getItem('appearance') ?? (isDark && 'dark')) === 'dark'
} catch {}
document.documentElement.classList.add(isDark ? 'dark' : 'light')
globalThis.__webpack_nonce__ = document.currentScript.nonce`

/** Switches between light and dark, and remembers it. */
export function toggleAppearance(): void {
  const { classList } = document.documentElement
  const isDark = classList.toggle('dark')
  classList.toggle('light', !isDark)
  try {
    localStorage.setItem('appearance', isDark ? 'dark' : 'light')
  } catch {
    // The theme lasts until the page is left.
  }
}
