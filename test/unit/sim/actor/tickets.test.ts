import { History } from '../../../../sim/history/history.ts';
import { simSigner, simVerifier } from '../../../../sim/actor/tickets.ts';
import { ticketContract } from '../../../contract/tickets.ts';

ticketContract('simulator', () => ({
  signer: simSigner('arbiter-1', new History(() => 0), () => 0),
  verifier: simVerifier,
}));
