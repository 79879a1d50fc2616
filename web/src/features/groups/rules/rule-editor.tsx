import { groupsText } from '../../../text/groups';
import { Button } from '../../../ui/button';
import { TextArea } from '../../../ui/text-area';
import { asForm, asText, type RuleDraft, ruleOf, withText } from './rule-draft';
import { RuleForm } from './rule-form';

interface Props {
  draft: RuleDraft;
  onChange: (draft: RuleDraft) => void;
}

const words = groupsText.rule;

export function RuleEditor({ draft, onChange }: Props) {
  if (draft.mode === 'form') {
    return (
      <>
        <RuleForm block={draft.block} onChange={(block) => onChange({ mode: 'form', block })} />
        <div className="rule-add">
          <Button kind="quiet" onPress={() => onChange(asText(draft))}>
            {words.asJson}
          </Button>
        </div>
      </>
    );
  }
  return (
    <>
      <TextArea
        label={words.json}
        rows={12}
        value={draft.text}
        onChange={(text) => onChange(withText(text))}
        hint={words.jsonHint}
        error={ruleOf(draft) === undefined ? words.jsonFault : undefined}
      />
      {draft.isFormable ? (
        <div className="rule-add">
          <Button kind="quiet" onPress={() => onChange(asForm(draft))}>
            {words.asForm}
          </Button>
        </div>
      ) : (
        <p className="soft">{words.onlyJson}</p>
      )}
    </>
  );
}
