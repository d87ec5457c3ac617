const FORMAT = new Intl.NumberFormat('en', {
  style: 'unit',
  unit: 'second',
  unitDisplay: 'long',
  useGrouping: false,
});

/** Such as `0.4 seconds`. */
export function inSeconds(milliseconds: number): string {
  const seconds = milliseconds / 1_000;
  return FORMAT.format(Number(seconds.toFixed(seconds < 10 ? 1 : 0)));
}
