import './json-block.css';

/** Data as it is, in a block of limited height that scrolls. */
export function JsonBlock({ label, value }: { label: string; value: unknown }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: no landmark, since a page can have many of the same name
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <div className="json-block" role="group" aria-label={label} tabIndex={0}>
      <pre>{JSON.stringify(value, null, 2)}</pre>
    </div>
  );
}
