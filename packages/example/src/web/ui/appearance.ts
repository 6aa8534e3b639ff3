/** Runs before the first paint, so that nothing flashes. It also tells libraries that make style elements the nonce of the page. */
export const APPEARANCE_SCRIPT = `
const stored = localStorage.getItem('appearance')
const isDark = stored === null ? matchMedia('(prefers-color-scheme: dark)').matches : stored === 'dark'
document.documentElement.classList.add(isDark ? 'dark' : 'light')
globalThis.__webpack_nonce__ = document.currentScript.nonce`

/** Light instead of dark, or the other way round, also at the next visit. */
export function toggleAppearance(): void {
  const { classList } = document.documentElement
  const isDark = classList.toggle('dark')
  classList.toggle('light', !isDark)
  localStorage.setItem('appearance', isDark ? 'dark' : 'light')
}
