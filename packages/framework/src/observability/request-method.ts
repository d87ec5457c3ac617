/** The methods of RFC 9110 (section 9.1), PATCH (RFC 5789) and QUERY (RFC 10008). */
const KNOWN = new Set('CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT QUERY TRACE'.split(' '));

/** OpenTelemetry's `http.request.method`, which must have low cardinality. */
export function knownMethod(method: string): string {
  return KNOWN.has(method) ? method : '_OTHER';
}
