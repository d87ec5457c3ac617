/* The public interface for programs that read records: JSON in UTF-8, with every digit of a number. */

export { withoutByteOrderMark } from './json/byte-order-mark.js';
export { parseExactJson, stringifyExactJson, toInteger } from './json/exact-json.js';
export { ExactNumber } from './json/exact-number.js';
