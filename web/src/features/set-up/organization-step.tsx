import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Part } from '../../api/part';
import { useMay } from '../../api/rights';
import { organizationQuery } from '../../api/server';
import { setUpText } from '../../text/set-up';
import { Step } from './step';

const words = setUpText.organization;

export function OrganizationStep() {
  const organization = useQuery(organizationQuery);
  const mayChange = useMay()('updateOrganization');
  const { data } = organization;
  const isSet = data?.updated_at !== null && data?.updated_at !== undefined;
  const state = data === undefined ? undefined : isSet ? 'done' : 'open';
  return (
    <Step title={words.title} why={words.why} state={state}>
      <Part query={organization}>
        {({ name = '', payload_prefix: prefix = '' }) => <p>{words.is(name, prefix)}</p>}
      </Part>
      {mayChange ? (
        <div>
          <Link to="/settings/organization" className="button">
            {isSet ? words.edit : words.set}
          </Link>
        </div>
      ) : (
        <p className="soft">{setUpText.needsAdmin}</p>
      )}
    </Step>
  );
}
