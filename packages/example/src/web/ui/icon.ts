/** The two gates of a sally port and their handles, in a 24 by 24 box. */
export const GATES = 'M4 3h7v18H4zM13 3h7v18h-7z'
export const HANDLES = 'M8.5 10.8h1v2.4h-1zM14.5 10.8h1v2.4h-1z'

/** The icon of the page, as a data URL. */
export const ICON = `data:image/svg+xml,${encodeURIComponent(
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path fill="#3e63dd" d="${GATES}"/><path fill="#fff" d="${HANDLES}"/></svg>`,
)}`
