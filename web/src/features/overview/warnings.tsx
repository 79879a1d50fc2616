import { PageLinks } from '../../api/page-links';
import { overviewText as words } from '../../text/overview';
import { warningOf } from '../../text/own-words';
import { sentenceOf } from '../../text/sentence';
import { Section } from '../../ui/page';
import { Status } from '../../ui/status';

/** What the server itself warns of; nothing while there is nothing. */
export function Warnings({ warnings }: { warnings: { code: string; detail: string }[] }) {
  if (warnings.length === 0) return null;
  return (
    <Section title={words.warnings}>
      <ul className="warnings">
        {warnings.map(({ code, detail }) => (
          <li key={`${code} ${detail}`}>
            <Status tone="warn">{sentenceOf(code)}</Status>
            <p>
              {warningOf({ code, detail })}
              <PageLinks text={detail} />
            </p>
          </li>
        ))}
      </ul>
    </Section>
  );
}
