import { ConfigurationError } from '@sallyport/core'
import { describe, expect, test } from 'vitest'
import { addressBuckets, clientAddress, clientNetwork, trustProxies } from '../../src/request/address.ts'

describe('trustedProxies', () => {
  test.each([
    [['10.0.0.1'], '10.0.0.1', true],
    [['10.0.0.1'], '10.0.0.2', false],
    [['10.0.0.0/8'], '10.255.255.255', true],
    [['10.0.0.0/8'], '11.0.0.0', false],
    [['10.0.0.0/255.0.0.0'], '10.1.2.3', true],
    [['loopback'], '127.0.0.1', true],
    [['loopback'], '::1', true],
    [['loopback'], '10.0.0.1', false],
    [['uniquelocal'], '192.168.1.1', true],
    [['uniquelocal'], 'fd00::1', true],
    [['linklocal'], '169.254.1.1', true],
    [['linklocal'], 'fe80::1', true],
    [['2001:db8::/32'], '2001:db8:ffff::1', true],
    [['2001:db8::/32'], '2001:db9::1', false],
    [['10.0.0.1'], '::ffff:10.0.0.1', true],
    [['192.0.2.1', 'loopback'], '127.0.0.1', true],
    [[], '127.0.0.1', false],
    [[], '10.0.0.1', false],
  ])('%j: %s is trusted: %s', (proxies, address, isTrusted) => {
    expect(trustProxies(proxies)(address, 0)).toBe(isTrusted)
  })

  test.each(['', 'proxy', 'proxy.example.com', '*', '10.0.0.0/33', '10.0.0.1:80', 'true', 'public'])(
    'rejects %j by name',
    (proxy) => {
      expect(() => trustProxies([proxy])).toThrow(ConfigurationError)
      expect(() => trustProxies([proxy])).toThrow(/^trustedProxies: .*/)
    },
  )
})

describe('the address of a client', () => {
  test.each([
    ['of the connection', '192.0.2.1', null, '192.0.2.1'],
    ['of the connection, whatever an untrusted client sends', '192.0.2.1', '198.51.100.1', '192.0.2.1'],
    ['unknown', null, null, null],
    ['unknown, whatever the header says', null, '198.51.100.1', null],
    ['the value from a trusted proxy', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['the proxy, if it sends no address', '10.0.0.1', null, '10.0.0.1'],
    ['the proxy, if it sends no address', '10.0.0.1', '', '10.0.0.1'],
    ["the last address that isn't a trusted proxy", '10.0.0.1', '1.1.1.1, 198.51.100.1', '198.51.100.1'],
    [
      "the last address that isn't a trusted proxy",
      '10.0.0.1',
      '1.1.1.1,198.51.100.1 , 10.0.0.2',
      '198.51.100.1',
    ],
    ['the first, if all are trusted proxies', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['of IPv6, shortened', '2001:DB8:0:0:0:0:0:1', null, '2001:db8::1'],
    ['of IPv4 in IPv6', '::ffff:192.0.2.1', null, '192.0.2.1'],
    ['of a proxy of IPv4 in IPv6', '::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['of IPv6 behind a proxy', '10.0.0.1', '2001:db8::1', '2001:db8::1'],
    ['with a port behind a proxy', '10.0.0.1', '198.51.100.1:5678', '198.51.100.1'],
    ['of IPv6 with a port behind a proxy', '10.0.0.1', '[2001:db8::1]:5678', '2001:db8::1'],
    ['of IPv6 in brackets behind a proxy', '10.0.0.1', '[2001:db8::1]', '2001:db8::1'],
    ['an invalid address is null', 'unix:/run/app.sock', null, null],
    ['an invalid address is null', '', null, null],
    ['an invalid address is null', '10.0.0.1', 'unknown', null],
    ['an invalid address is null', '10.0.0.1', '<script>', null],
    ['an invalid address is null', '10.0.0.1', '999.1.1.1', null],
    ['an invalid address is null', '10.0.0.1', "' or 1=1 --", null],
    ['an invalid address is null', '10.0.0.1', '198.51.100.1, _hidden', null],
  ])('%s: %s, %j is %s', (_name, remoteAddress, forwardedFor, address) => {
    expect(clientAddress(remoteAddress, forwardedFor, trustProxies(['10.0.0.0/8']))).toBe(address)
  })
})

describe('the unit of one client', () => {
  test.each([
    [null, 'unknown'],
    ['192.0.2.1', '192.0.2.1'],
    ['2001:db8::1', '2001:db8::/64'],
    ['2001:db8:0:0:ffff:ffff:ffff:ffff', '2001:db8::/64'],
    ['2001:db8:0:1::1', '2001:db8:0:1::/64'],
    ['fe80::1', 'fe80::/64'],
    ['::1', '::/64'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2002:c000:201::1', '192.0.2.1'],
    ['2002:c000:201:ffff:1:2:3:4', '192.0.2.1'],
    ['64:ff9b::192.0.2.1', '192.0.2.1'],
    ['64:ff9b:1::192.0.2.1', '192.0.2.1'],
    ['64:ff9b:1:fffe::192.0.2.1', '192.0.2.1'],
    ['64:ff9b:1:c000:2:100::', '192.0.2.1'],
    ['64:ff9b:2::192.0.2.1', '64:ff9b:2::/64'],
    ['2003:c000:201::1', '2003:c000:201::/64'],
  ])('%s: %s', (address, network) => {
    expect(clientNetwork(address)).toBe(network)
  })

  test.each(['fe80::1%eth0', 'fe80::1%1', '2001:db8::1%en0'])(
    'an address with a zone, such as %s, belongs to its network',
    (remoteAddress) => {
      const address = clientAddress(remoteAddress, null, trustProxies([]))
      expect(clientNetwork(address)).toBe(`${remoteAddress.split('::')[0]}::/64`)
    },
  )
})

describe('the unit of a limit by address', () => {
  const limit = { points: 3, duration: 60 }
  test.each([
    [null, ['unknown']],
    ['192.0.2.1', ['192.0.2.1']],
    ['2002:c000:201::1', ['192.0.2.1']],
    ['64:ff9b::192.0.2.1', ['192.0.2.1']],
    ['2001:db8:7:1::1', ['2001:db8:7:1::/64', '2001:db8:7::/48']],
  ])('for %s: %j', (address, names) => {
    expect(addressBuckets(address, limit)).toEqual(
      names.map((name) => ({ name, limit: name.endsWith('/48') ? { points: 30, duration: 60 } : limit })),
    )
  })
})
