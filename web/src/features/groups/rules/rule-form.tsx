import { groupsText } from '../../../text/groups';
import { Button } from '../../../ui/button';
import { Select } from '../../../ui/select';
import { ConditionRow } from './condition-row';
import { type Block, type Match, newBlock, newCondition, type Part } from './rule';

interface Props {
  block: Block;
  onChange: (block: Block) => void;
  /** Of a block within a block: its place, and how it is removed. */
  number?: string;
  onRemove?: () => void;
}

const words = groupsText.rule;
const MATCHES: readonly Match[] = ['all', 'any', 'none'];
/** As many blocks within each other as the API nests, less what a block itself takes. */
const MAX_DEPTH = 2;

/** Comparisons, and blocks of comparisons, that can be changed. */
export function RuleForm({ block, onChange, number, onRemove }: Props) {
  const { parts } = block;
  const depth = number === undefined ? 0 : number.split('.').length;
  const replace = (index: number, part: Part) =>
    onChange({ ...block, parts: parts.map((old, at) => (at === index ? part : old)) });
  const remove = (index: number) =>
    onChange({ ...block, parts: parts.filter((_, at) => at !== index) });
  const add = (part: Part) => onChange({ ...block, parts: [...parts, part] });
  return (
    <fieldset
      className="rule-block"
      aria-label={number === undefined ? words.title : words.block(number)}
    >
      <div className="rule-match">
        {number === undefined && <span aria-hidden="true">{words.match}</span>}
        <Select
          label={number === undefined ? words.match : words.matchInner}
          value={block.match}
          onChange={(match) => onChange({ ...block, match: match as Match })}
          options={MATCHES.map((match) => ({ value: match, label: words.matches[match] }))}
        />
        {onRemove !== undefined && (
          <Button kind="quiet" aria-label={words.removeBlock(number ?? '')} onPress={onRemove}>
            ×
          </Button>
        )}
      </div>
      {parts.map((part, index) => {
        const place = number === undefined ? String(index + 1) : `${number}.${index + 1}`;
        return part.kind === 'condition' ? (
          <ConditionRow
            key={part.key}
            condition={part}
            number={place}
            onChange={(changed) => replace(index, changed)}
            onRemove={() => remove(index)}
          />
        ) : (
          <RuleForm
            key={part.key}
            block={part}
            number={place}
            onChange={(changed) => replace(index, changed)}
            onRemove={() => remove(index)}
          />
        );
      })}
      <div className="rule-add">
        <Button kind="quiet" onPress={() => add(newCondition())}>
          + {words.add}
        </Button>
        {depth < MAX_DEPTH && (
          <Button kind="quiet" onPress={() => add(newBlock('any', [newCondition()]))}>
            + {words.addBlock}
          </Button>
        )}
      </div>
    </fieldset>
  );
}
