import { PageLinks } from '../../../api/page-links';
import { settingsText } from '../../../text/settings';

const words = settingsText.doctor;

interface Props {
  what: string;
  why: string | null;
  cure: string | null;
}

export function FindingText({ what, why, cure }: Props) {
  return (
    <div className="finding-text">
      <p>{what}</p>
      {why !== null && (
        <p className="soft">
          {words.why}: {why}
        </p>
      )}
      {cure !== null && (
        <p>
          <strong>{words.cure}:</strong> {cure}
          <PageLinks text={cure} />
        </p>
      )}
    </div>
  );
}
