import { describe, expect, test } from 'vitest'
import { isMadeOfContext } from '../../../src/plugins/email-password/context-words.ts'

const ADA = { appName: 'Sally Port', name: 'Ada King-Lovelace', email: 'lovelace1815@math.example' }
const isMade = (password: string, context = ADA) => isMadeOfContext(password, context)

describe('rejects a password that is', () => {
  test.each([
    ['the name of the app', 'SallyPort'],
    ['the name of the app with a year', 'sallyport2026'],
    ['the name of the app between punctuation', '!!sally-port!!'],
    ['the name of the app with digits for letters', 'S4l1yP0rt!'],
    ['the name of the app, twice', 'sallyport sallyport'],
    ['the name of the user', 'Ada King-Lovelace'],
    ['the name of the user in another order', 'lovelace.ada'],
    ['part of the name and a date', 'Lovelace10121915'],
    ['part of the name and a sequence', 'lovelace 123456789'],
    ['part of the name and a repetition', 'lovelace!!!!!!!!!!'],
    ['the name of the user and of the app', 'ada@sallyport'],
    ['the email address', 'Lovelace1815@Math.Example'],
    ['the email address with a digit', 'lovelace1815@math.example1'],
    ['the first part of the email address', 'LOVELACE1815'],
    ['the word in the first part of the email address', 'lovelace99'],
    ['the name with accents', 'lóvelàcë1815'],
  ])('%s: %s', (_name, password) => {
    expect(isMade(password)).toBe(true)
    expect(isMade(password, { appName: 'Other', name: 'Bob', email: 'someone@else.example' })).toBe(false)
  })
})

describe('accepts a password that', () => {
  test.each([
    ['contains the name of the app', 'sallyport is my favorite'],
    ['contains the name of the user', 'lovelace1815 and more'],
    ['contains the name of the user inside a word', 'adamant kingfisher'],
    ['has enough other characters than the name', 'lovelace 83619475'],
    ['is the domain of the address', 'math.example'],
    ['has no letters', '83619475'],
    ['is a passphrase', 'correct horse battery staple'],
  ])('%s: %s', (_name, password) => {
    expect(isMade(password)).toBe(false)
  })

  test('matches nothing if the names are empty or have one letter', () => {
    for (const name of ['', ' ', 'x', '1', '👩‍🚀'])
      expect(isMadeOfContext('xxxxyyyy', { appName: name, name, email: '@' })).toBe(false)
  })
})
