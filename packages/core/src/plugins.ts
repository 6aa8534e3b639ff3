export { admin } from './plugins/admin.ts'
export { createPasswordAccount, emailPassword } from './plugins/email-password.ts'
