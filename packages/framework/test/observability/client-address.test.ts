import { describe, expect, it } from 'vitest';
import { addressIn } from '../../src/observability/client-address.js';

describe('an entry of X-Forwarded-For', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:40007', '192.0.2.7'],
    ['192.0.2.7:_port', '192.0.2.7'],
    ['"192.0.2.7:40007"', '192.0.2.7'],
    [' 192.0.2.7 ', '192.0.2.7'],
    ['[192.0.2.7]', 'unknown'],
    ['192.0.2.7:', 'unknown'],
    ['192.0.2.7:123456', 'unknown'],
    ['192.0.2.300', 'unknown'],
    ['2001:db8::7', '2001:db8::7'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['[2001:db8::7]:4000', '2001:db8::7'],
    ['"[2001:db8::7]:4000"', '2001:db8::7'],
    ['[2001:DB8:0:0::7]:4000', '2001:db8::7'],
    ['[2001:db8::7', 'unknown'],
    ['[2001:db8::7]4000', 'unknown'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::1', '::1'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:c000:207', '192.0.2.7'],
    ['0:0:0:0:0:ffff:192.0.2.7', '192.0.2.7'],
    ['[::ffff:192.0.2.7]:40007', '192.0.2.7'],
    ['64:ff9b::192.0.2.7', '64:ff9b::c000:207'],
    ['_hidden', '_hidden'],
    ['_SEVKISEK', '_SEVKISEK'],
    ['"_gazonk:4711"', '_gazonk'],
    ['_', 'unknown'],
    [`_${'x'.repeat(65)}`, 'unknown'],
    ['unknown', 'unknown'],
    ['unknown:8080', 'unknown'],
    ['tools.example.com', 'unknown'],
    ['<script>', 'unknown'],
    ['for=192.0.2.7', 'unknown'],
    ['', 'unknown'],
    ['long '.repeat(3_000), 'unknown'],
    [undefined, 'unknown'],
  ])('%.40s names %s', (entry, address) => {
    expect(addressIn(entry)).toBe(address);
  });
});
