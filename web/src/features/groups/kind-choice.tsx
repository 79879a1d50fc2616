import { groupsText as words } from '../../text/groups';

export type Kind = 'static' | 'smart';

interface Props {
  kind: Kind;
  onChange: (kind: Kind) => void;
}

const KINDS: readonly Kind[] = ['smart', 'static'];

export function KindChoice({ kind, onChange }: Props) {
  return (
    <fieldset className="kind-choice">
      <legend>{words.kind}</legend>
      {KINDS.map((each) => (
        <label key={each} data-chosen={kind === each || undefined}>
          <input type="radio" name="kind" checked={kind === each} onChange={() => onChange(each)} />
          <span>
            <strong>{words.kinds[each]}</strong>
            <span className="soft">{words.kindHints[each]}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
