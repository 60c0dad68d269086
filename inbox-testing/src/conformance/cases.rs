//! The list of all cases, in the order a message meets the verbs.

/// Calls the macro `$then` with the verbs and their cases.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_cases {
    ($($then:tt)*) => {
        $($then)*! {
            accept {
                a_message_is_accepted_at_the_moment_of_the_call
                answers_come_in_the_order_of_the_envelopes
                nothing_given_is_nothing_answered
                two_thousand_messages_are_accepted_in_one_call
                what_one_process_accepts_another_leases_and_settles
                a_duplicate_is_answered_with_the_first_as_it_was
                a_duplicate_with_another_payload_changes_nothing
                a_key_accepted_twice_is_one_message
                a_key_is_remembered_after_its_message_is_settled
                a_message_accepted_twice_is_stored_once
                of_duplicates_in_one_call_the_first_stands
                a_message_without_a_route_waits_for_one
                every_route_of_the_contract_has_a_delivery
                a_deliver_by_keeps_its_microseconds
                a_header_may_be_empty_and_hold_any_character
                a_payload_of_one_mebibyte_arrives
                a_payload_says_the_same_when_it_comes_back
                every_field_reaches_the_worker
                every_float_is_the_same_when_it_comes_back
                five_hundred_headers_arrive
                text_is_never_read_as_a_statement
                what_was_not_said_is_not_there
                a_key_is_one_for_every_version_of_a_contract
                keys_differ_as_soon_as_one_byte_does
                messages_without_a_key_are_never_duplicates
                tenant_contract_and_key_are_not_run_together
                the_same_key_of_another_contract_is_another_message
                the_same_key_of_another_tenant_is_another_message
                a_delayed_message_waits_to_the_microsecond
                a_message_for_a_moment_waits_to_the_microsecond
                a_message_without_a_start_is_ready_at_once
                a_start_in_the_past_is_ready_at_once
                a_start_that_is_now_is_due_now
                every_handler_of_a_delayed_event_waits
                the_farthest_start_is_never_reached
                of_64_acceptances_of_one_key_at_once_one_is_new
            }
            lease {
                a_held_delivery_is_not_leased_again
                a_lease_says_since_when_and_until_when_it_holds
                every_lease_is_an_attempt_more
                no_two_calls_share_a_token
                only_what_is_ready_is_leased
                the_longest_lease_does_not_expire
                two_workers_never_hold_the_same_delivery
                a_dropped_lease_leaves_nothing_held_and_nothing_counted
                an_answer_is_in_the_order_of_claiming
                of_equally_urgent_ones_the_oldest_is_leased_first
                the_most_urgent_is_leased_first
                the_oldest_is_the_one_accepted_first_whatever_its_id
                those_of_one_call_are_leased_in_its_order
                a_held_suspect_keeps_no_other_delivery_back
                a_host_holds_at_most_one_suspect
                a_host_holds_one_suspect_for_all_its_keys
                a_suspect_is_leased_alone
                the_suspect_that_waited_longest_is_leased_whatever_its_key
                a_version_that_nobody_reads_costs_no_attempt
                a_version_that_nobody_reads_keeps_no_other_back
                every_wanted_version_is_leased
                nothing_wanted_is_nothing_leased
                only_wanted_keys_are_leased
                the_limit_holds_for_each_key
                versions_are_those_of_each_key
            }
            renew {
                a_lease_holds_until_the_last_microsecond
                a_lease_of_which_some_are_settled_is_renewed_for_the_others
                a_lease_that_has_expired_is_lost
                a_lease_that_is_gone_is_lost
                a_renewed_lease_holds_from_now_on
                an_unknown_token_is_lost
                answers_come_in_the_order_of_the_tokens
                the_longest_renewal_does_not_expire
            }
            settle {
                a_failure_is_recorded_as_an_attempt
                attempts_are_listed_oldest_first
                the_last_error_is_the_one_shown
                the_longest_error_is_kept_whole
                what_went_wrong_is_kept_after_success
                a_lease_settles_until_the_last_microsecond
                a_lease_that_another_holds_by_now_settles_nothing
                a_reclaimed_lease_settles_nothing
                a_settled_delivery_is_not_settled_again
                a_token_settles_for_its_own_handler_only
                a_token_settles_no_delivery_but_its_own
                an_expired_lease_settles_nothing
                an_unknown_token_settles_nothing
                a_lost_lease_does_not_keep_the_others_from_being_settled
                a_thousand_deliveries_are_settled_in_one_call
                nothing_to_settle_is_nothing_answered
                of_many_settlements_at_once_one_wins
                of_two_settlements_in_one_call_the_first_stands
                a_completed_delivery_is_done
                a_dead_delivery_says_why
                a_retry_after_no_time_is_due_now
                a_retry_waits_exactly_as_long_as_it_says
                an_expired_delivery_is_done
                each_handler_of_an_event_settles_on_its_own
                the_longest_retry_is_never_due
            }
            release {
                a_lease_that_another_holds_by_now_is_not_released
                a_lease_that_has_expired_releases_nothing
                a_release_gives_back_one_attempt_and_no_more
                a_released_delivery_is_ready_and_its_attempt_not_counted
                a_released_lease_settles_nothing
                release_answers_how_many_deliveries_are_ready_again
            }
            routes {
                a_delay_goes_on_while_a_message_waits_for_a_route
                a_fleet_that_starts_at_once_registers_each_route_once
                a_later_handler_gets_only_what_is_accepted_from_then_on
                every_handler_that_is_registered_together_gets_what_waited
                registering_again_changes_nothing
                what_waited_for_a_route_is_routed_by_registering
                superseding_a_key_touches_no_other_contract
                a_superseded_key_gets_nothing_new
                a_key_that_supersedes_its_successor_takes_its_place_back
                a_key_that_takes_another_contract_is_refused_and_nothing_is_registered
                registering_a_superseded_key_does_not_bring_it_back
                registering_answers_every_route_of_the_contract
                the_order_within_a_registration_does_not_matter
                what_a_superseded_key_has_is_still_delivered
                no_acceptance_beside_a_registration_is_forgotten
                what_is_routed_is_not_routed_again
                without_a_route_there_is_nothing_to_route
            }
            promote {
                of_many_promotions_at_once_each_delivery_is_moved_by_one
                only_what_is_due_is_promoted
                promoting_again_changes_nothing
                the_limit_of_a_promotion_holds
                what_was_due_first_is_promoted_first
            }
            reclaim {
                a_delivery_that_takes_every_worker_down_is_dead_in_the_end
                a_worker_that_vanishes_during_the_last_attempt_leaves_nothing_stuck
                one_attempt_in_all_is_dead_at_its_own_expiry
                the_lease_says_how_many_attempts_there_are
                the_neighbours_of_a_deadly_delivery_are_not_accused
                a_lease_is_reclaimed_from_the_moment_it_expires
                everything_that_a_lost_worker_held_is_ready_again
                of_many_reclaims_at_once_each_delivery_is_moved_by_one
                only_expired_leases_are_reclaimed
                the_first_expiry_is_not_counted
                the_limit_of_a_reclaim_holds
            }
            inspect {
                an_empty_store_counts_nothing
                counts_are_of_each_handler_and_state_and_sorted
                a_filter_means_all_that_it_says
                a_list_holds_what_the_filter_says
                a_list_is_ordered_by_message_and_handler
                a_page_holds_a_hundred_and_never_more_than_a_thousand
                every_delivery_is_on_one_page
                a_dead_delivery_is_retried_with_all_its_attempts
                a_retry_is_for_one_handler
                only_a_dead_delivery_is_retried
                what_is_retried_can_die_again
                what_went_wrong_before_a_retry_is_kept
                a_message_is_shown_with_its_own_deliveries_only
                an_unknown_message_is_not_shown
                showing_and_listing_agree_in_every_state
            }
            cancel {
                a_ready_delivery_is_cancelled_at_once
                a_waiting_delivery_is_cancelled_at_once
                a_message_without_a_route_is_cancelled_and_never_routed
                a_cancellation_is_for_one_handler_or_for_all
                what_is_settled_is_not_cancelled
                a_key_is_remembered_after_its_message_is_cancelled
                a_worker_learns_of_a_cancellation_when_it_renews
                a_cancelled_delivery_whose_handler_succeeds_is_completed
                a_cancelled_delivery_that_fails_is_not_tried_again
                a_cancelled_delivery_that_is_released_is_done
                a_cancelled_delivery_of_a_vanished_worker_is_done
                a_lease_that_has_expired_is_cancelled_all_the_same
                a_cancellation_that_meets_a_move_is_not_lost
            }
            reschedule {
                a_waiting_delivery_gets_another_start
                a_ready_delivery_is_put_off
                what_is_rescheduled_for_now_is_ready
                a_retry_is_brought_forward_and_stays_counted
                what_is_held_or_settled_is_not_rescheduled
                a_message_without_a_route_keeps_its_new_start
                a_rescheduling_is_for_one_handler_or_for_all
                a_rescheduling_that_meets_a_promotion_is_not_lost
            }
            reachable {
                nothing_is_lost_whatever_happens
            }
        }
    };
}

#[cfg(test)]
mod tests;
