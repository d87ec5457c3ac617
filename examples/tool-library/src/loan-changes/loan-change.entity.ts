import { ChangeOf } from '@resource-service/changes';
import { Entity, Index } from 'typeorm';
import { Loan } from '../loans/loan.entity.js';

/** A record of the begin or the end of a loan. */
@Index('loan_changes_id_position_idx', ['id', 'position'])
@Entity('loan_changes')
export class LoanChange extends ChangeOf(Loan) {}
