/** The color of a tag. The name stands beside it. */
export function Swatch({ color = '888888' }: { color?: string | undefined }) {
  return <span className="swatch" style={{ background: `#${color}` }} aria-hidden="true" />;
}
